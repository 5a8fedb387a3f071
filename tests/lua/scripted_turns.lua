-- A scripted model whose turns the spec has put into turns_store.
return function() return require "turns_store".now end
