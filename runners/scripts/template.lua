-- Requests from a path template, for any server (see target.yaml).
-- Arguments: method, path, keys, body, then headers: "header NAME VALUE" or "environment NAME VARIABLE PREFIX", whose
-- value is PREFIX and the variable's value: a secret stands in no command line. The body is "text TEXT", "file PATH", or
-- sizes in bytes: of 100,1000 one is drawn for each request.
-- In the path and in a text, {key} is random from 1 to keys, {counter} counts from 1; both a thread. A text has the path's
-- last {key}. Nothing seeds the numbers.
local method, path, keys
local bodies = {}
local text
local headers = {}
local counter, key = 0, nil
local fixed

local function drawn()
   key = tostring(math.random(1, keys))
   return key
end

local function filled(template, of_key)
   return (template:gsub("{counter}", tostring(counter)):gsub("{key}", of_key))
end

local function read(name)
   local file = assert(io.open(name, "rb"))
   local content = file:read("*a")
   file:close()
   return content
end

function init(args)
   method, path, keys = args[1], args[2], tonumber(args[3])
   local form, content = args[4]:match("^(%a+) (.*)$")
   if form == "text" then
      text = content
   elseif form == "file" then
      bodies[1] = read(content)
   else
      for bytes in args[4]:gmatch("%d+") do
         bodies[#bodies + 1] = string.rep("v", tonumber(bytes))
      end
   end
   for place = 5, #args do
      local kind, name, rest = args[place]:match("^(%a+) (%S+) (.*)$")
      if kind == "environment" then
         local variable, prefix = rest:match("^(%S+) (.*)$")
         rest = prefix .. (os.getenv(variable) or error("the environment has no " .. variable))
      end
      headers[name] = rest
   end
   local template = path .. (text or "")
   local same = not (template:find("{key}", 1, true) or template:find("{counter}", 1, true))
   if #bodies <= 1 and same then
      fixed = wrk.format(method, path, headers, body())
   end
end

function body()
   if text then
      return filled(text, function() return key or drawn() end)
   end
   local chosen = #bodies == 1 and bodies[1] or bodies[math.random(#bodies)]
   return chosen ~= "" and chosen or nil
end

request = function()
   if fixed then
      return fixed
   end
   counter, key = counter + 1, nil
   return wrk.format(method, filled(path, drawn), headers, body())
end
