-- PUT of random ids with random values, two draws a request. Arguments: keys (ids and values run from 1 to this, default
-- 1000000), seed (default: none, so that each thread and each run draws the same sequence).
local keys = 1000000

function init(args)
   keys = tonumber(args[1]) or keys
   if args[2] then
      math.randomseed(tonumber(args[2]))
   end
end

request = function()
   local id = math.random(1, keys)
   return wrk.format("PUT", "/v0/entity?id=" .. id, nil, "value-" .. math.random(1, keys))
end
