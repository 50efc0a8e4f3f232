-- PUT of random ids with values of one size. Arguments: keys (ids run from 1 to this, default 10000), value bytes (120),
-- seed (default: none, so that each thread and each run draws the same sequence).
local keys, value = 10000, string.rep("v", 120)

function init(args)
   keys = tonumber(args[1]) or keys
   value = string.rep("v", tonumber(args[2]) or 120)
   if args[3] then
      math.randomseed(tonumber(args[3]))
   end
end

request = function()
   return wrk.format("PUT", "/v0/entity?id=" .. math.random(1, keys), nil, value)
end
