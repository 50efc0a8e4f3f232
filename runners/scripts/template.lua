-- Requests from a path template, for any server (see target.yaml).
-- Arguments: method, path, keys, body bytes, then headers: "header NAME VALUE" or "environment NAME VARIABLE PREFIX",
-- whose value is PREFIX and the variable's value: a secret stands in no command line.
-- In the path, {key} is random from 1 to keys, {counter} counts from 1; both a thread. Nothing seeds the numbers.
local method, path, keys, body
local headers = {}
local counter = 0
local fixed

function init(args)
   method, path, keys = args[1], args[2], tonumber(args[3])
   local bytes = tonumber(args[4])
   body = bytes > 0 and string.rep("v", bytes) or nil
   for place = 5, #args do
      local kind, name, rest = args[place]:match("^(%a+) (%S+) (.*)$")
      if kind == "environment" then
         local variable, prefix = rest:match("^(%S+) (.*)$")
         rest = prefix .. (os.getenv(variable) or error("the environment has no " .. variable))
      end
      headers[name] = rest
   end
   if not path:find("{", 1, true) then
      fixed = wrk.format(method, path, headers, body)
   end
end

request = function()
   if fixed then
      return fixed
   end
   counter = counter + 1
   local filled = path:gsub("{counter}", tostring(counter))
   filled = filled:gsub("{key}", function() return tostring(math.random(1, keys)) end)
   return wrk.format(method, filled, headers, body)
end
