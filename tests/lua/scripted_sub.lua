-- The same for a sub-agent.
return function() return require "turns_store".sub end
