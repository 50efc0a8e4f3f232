-- PUT with ids from 1 upwards; the value is the id in digits. One counter a thread.
local id = 0

request = function()
   id = id + 1
   local text = tostring(id)
   return wrk.format("PUT", "/v0/entity?id=" .. text, nil, text)
end
