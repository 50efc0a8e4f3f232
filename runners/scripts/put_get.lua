-- PUT and GET in alternation: each id is written and then read. One counter a thread.
local id = 0
local write = false

request = function()
   write = not write
   if write then
      id = id + 1
      local text = tostring(id)
      return wrk.format("PUT", "/v0/entity?id=" .. text, nil, text)
   end
   return wrk.format("GET", "/v0/entity?id=" .. id)
end
