-- PUT and GET of random ids key1 to key<n>. Arguments: n (default 1000), when to toss the coin (default each).
-- each: for every request, so half of them are PUTs. once: when the script is loaded, so that a thread sends PUTs alone
-- or GETs alone; without a seed the first toss gives 2 in every thread and run, and none of them is a PUT.
local keys = 1000
local coin

function init(args)
   keys = tonumber(args[1]) or keys
   if args[2] == "once" then
      coin = math.random(1, 2)
   end
end

request = function()
   local side = coin or math.random(1, 2)
   local number = math.random(1, keys)
   if side == 1 then
      return wrk.format("PUT", "/v0/entity?id=key" .. number, nil, "value" .. number)
   end
   return wrk.format("GET", "/v0/entity?id=key" .. number)
end
