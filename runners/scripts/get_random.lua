-- GET of random ids. Arguments: keys (ids run from 1 to this, default 10000), seed (default: none, so that each thread
-- and each run draws the same sequence).
local keys = 10000

function init(args)
   keys = tonumber(args[1]) or keys
   if args[2] then
      math.randomseed(tonumber(args[2]))
   end
end

request = function()
   return wrk.format("GET", "/v0/entity?id=" .. math.random(1, keys))
end
