-- GET of random ids key1 to key<n>. Arguments: n (default 10000).
-- Nothing seeds the numbers: each thread and each run draws the same, one a request.
local keys = 10000

function init(args)
   keys = tonumber(args[1]) or keys
end

request = function()
   return wrk.format("GET", "/v0/entity?id=key" .. math.random(1, keys))
end
