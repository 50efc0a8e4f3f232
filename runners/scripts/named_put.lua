-- PUT of random ids key1 to key<n>, with the value value<number>. Arguments: n (default 10000).
-- Nothing seeds the numbers: each thread and each run draws the same, one a request.
local keys = 10000

function init(args)
   keys = tonumber(args[1]) or keys
end

request = function()
   local number = math.random(1, keys)
   return wrk.format("PUT", "/v0/entity?id=key" .. number, nil, "value" .. number)
end
