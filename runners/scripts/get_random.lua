-- GET of random ids. Arguments: keys (ids run from 1 to this, default 10000).
local keys = 10000

function init(args)
   keys = tonumber(args[1]) or keys
end

request = function()
   return wrk.format("GET", "/v0/entity?id=" .. math.random(1, keys))
end
