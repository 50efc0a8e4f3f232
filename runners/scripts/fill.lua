-- Fills a store: PUT of consecutive ids.
-- Arguments: count (default 10000), value bytes (120, or own: the value of id 7 is value7), first id (1), what stands
-- before the number of an id (nothing).
-- Thread i of n takes every n-th id, so `truepace -n COUNT` without -R writes each id once, whatever -t is.
-- After its last id a thread begins again. wrk and wrk2 throw the first request away: there, send a few more than COUNT.
local count, value_bytes, first, prefix = 10000, 120, 1, ""
local value
local sent = 0

-- In the main state: each thread learns its number and how many there are, which grows until the last is set up.
local threads = {}
function setup(thread)
   thread:set("fill_thread", #threads)
   threads[#threads + 1] = thread
   for _, other in ipairs(threads) do
      other:set("fill_threads", #threads)
   end
end

function init(args)
   count = tonumber(args[1]) or count
   first = tonumber(args[3]) or first
   prefix = args[4] or prefix
   if args[2] ~= "own" then
      value = string.rep("v", tonumber(args[2]) or value_bytes)
   end
end

request = function()
   local number = first + (fill_thread + sent * fill_threads) % count
   sent = sent + 1
   return wrk.format("PUT", "/v0/entity?id=" .. prefix .. number, nil, value or "value" .. number)
end
