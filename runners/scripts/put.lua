-- PUT with ids from 1 upwards; one counter a thread.
-- Argument: value bytes (default: the value is the id in digits).
local id = 0
local value

function init(args)
   local bytes = tonumber(args[1])
   value = bytes and string.rep("v", bytes)
end

request = function()
   id = id + 1
   local text = tostring(id)
   return wrk.format("PUT", "/v0/entity?id=" .. text, nil, value or text)
end
