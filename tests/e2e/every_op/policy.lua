local p = require "sandglass.policy"
return p.rules { default = "allow" }
