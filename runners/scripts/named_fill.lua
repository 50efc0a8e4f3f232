-- Fills a store with key1 to key<n> and their values value1 to value<n>, once each. Arguments: n (default 10000).
-- Thread i of t takes every t-th number, so `loadgen -n N` without -R writes each key once, whatever -t is.
local count = 10000
local sent = 0
local known = {}

function setup(thread)
   thread:set("fill_thread", #known)
   known[#known + 1] = thread
   for _, each in ipairs(known) do
      each:set("fill_threads", #known)
   end
end

function init(args)
   count = tonumber(args[1]) or count
end

request = function()
   local number = 1 + (fill_thread + sent * fill_threads) % count
   sent = sent + 1
   return wrk.format("PUT", "/v0/entity?id=key" .. number, nil, "value" .. number)
end
