-- The suite of `sandglass plugin test` does nothing but in its boxes and the directory that it was given: kinds without walls, too.
return require("sandglass.policy").rules { default = "allow" }
