-- GET of ids that are not equally liked: most requests ask for a few of them. Arguments: keys (ids run from 1 to this,
-- default 10000), hot keys (the first 100 of them), percent of the requests that ask for a hot one (90),
-- seed (default: none, so that each thread and each run draws the same sequence).
local keys, hot, percent = 10000, 100, 90

function init(args)
   keys = tonumber(args[1]) or keys
   hot = tonumber(args[2]) or hot
   percent = tonumber(args[3]) or percent
   if args[4] then
      math.randomseed(tonumber(args[4]))
   end
end

request = function()
   local most = math.random(1, 100) <= percent and hot or keys
   return wrk.format("GET", "/v0/entity?id=" .. math.random(1, most))
end
