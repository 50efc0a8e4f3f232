-- Requests from a path template, for any server (see target.yaml).
-- Arguments: method, path, keys, body bytes (of 100,1000 one is drawn for each request), then headers: "header NAME VALUE" or "environment NAME VARIABLE PREFIX",
-- whose value is PREFIX and the variable's value: a secret stands in no command line.
-- In the path, {key} is random from 1 to keys, {counter} counts from 1; both a thread. Nothing seeds the numbers.
local method, path, keys
local bodies = {}
local headers = {}
local counter = 0
local fixed

function init(args)
   method, path, keys = args[1], args[2], tonumber(args[3])
   for bytes in args[4]:gmatch("%d+") do
      bodies[#bodies + 1] = string.rep("v", tonumber(bytes))
   end
   for place = 5, #args do
      local kind, name, rest = args[place]:match("^(%a+) (%S+) (.*)$")
      if kind == "environment" then
         local variable, prefix = rest:match("^(%S+) (.*)$")
         rest = prefix .. (os.getenv(variable) or error("the environment has no " .. variable))
      end
      headers[name] = rest
   end
   if #bodies == 1 and not path:find("{", 1, true) then
      fixed = wrk.format(method, path, headers, body())
   end
end

function body()
   local drawn = #bodies == 1 and bodies[1] or bodies[math.random(#bodies)]
   return drawn ~= "" and drawn or nil
end

request = function()
   if fixed then
      return fixed
   end
   counter = counter + 1
   local filled = path:gsub("{counter}", tostring(counter))
   filled = filled:gsub("{key}", function() return tostring(math.random(1, keys)) end)
   return wrk.format(method, filled, headers, body())
end
