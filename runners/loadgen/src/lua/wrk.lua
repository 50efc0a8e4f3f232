-- The `wrk` table that scripts know. It arrives filled with what the command line and the URL say, and with whether a
-- Host header is sent.
local wrk, sends_host = ...
local concat, sort, len, pairs, tostring, type = table.concat, table.sort, string.len, pairs, tostring, type
local error, getmetatable, getinfo, xpcall = error, getmetatable, debug.getinfo, xpcall

-- What a script prints stays in order with the report, which does not go through C's buffers.
io.stdout:setvbuf("line")

-- As in wrk, a script may look at the metatable of what it is given; these here are locked by the library that makes them.
local unlocked = debug.getmetatable
function _G.getmetatable(value)
   return type(value) == "userdata" and unlocked(value) or getmetatable(value)
end

local names = {}

-- Puts the headers' names into `names`, Host first as RFC 9110 section 7.2 asks for, the others in alphabetical order:
-- the order of `pairs` changes from run to run. Gives their number.
local function order(headers)
   local first = headers["Host"] and 1 or 0
   names[1] = "Host"
   local n = first
   for name in pairs(headers) do
      if name ~= "Host" then
         local at = n
         while at > first and tostring(names[at]) > tostring(name) do
            names[at + 1] = names[at]
            at = at - 1
         end
         names[at + 1] = name
         n = n + 1
      end
   end
   return n
end

-- The text of a request; what is not given comes from the table. As in wrk, the headers given are completed in place.
function wrk.format(method, path, headers, body)
   headers = headers or wrk.headers
   body = body or wrk.body
   if not headers["Host"] then
      headers["Host"] = wrk.headers["Host"]
   end
   -- A body may be a number, which `#` refuses.
   headers["Content-Length"] = body and len(body)

   local text = { method or wrk.method, " ", path or wrk.path, " HTTP/1.1\r\n" }
   local n = 4
   for at = 1, order(headers) do
      local name = names[at]
      text[n + 1] = name
      text[n + 2] = ": "
      text[n + 3] = tostring(headers[name])
      text[n + 4] = "\r\n"
      n = n + 4
   end
   text[n + 1] = "\r\n"
   text[n + 2] = body or ""
   return concat(text)
end

-- In the main state, before the threads: the addresses of a host at which somebody listens.
function wrk.resolve(host, service)
   local addrs = {}
   for _, addr in ipairs(wrk.lookup(host, service)) do
      if wrk.connect(addr) then
         addrs[#addrs + 1] = addr
      end
   end
   wrk.addrs = addrs
end

function wrk.setup(thread)
   if type(setup) == "function" then
      setup(thread)
   end
end

function wrk.init(args)
   if sends_host and not wrk.headers["Host"] then
      local host = wrk.host
      if host:find(":", 1, true) then
         host = "[" .. host .. "]"
      end
      wrk.headers["Host"] = wrk.port and (host .. ":" .. wrk.port) or host
   end
   if type(init) == "function" then
      init(args)
   end
   local always = wrk.format()
   wrk.request = function()
      return always
   end
end

package.loaded["wrk"] = wrk

-- The numbers of the operations' names. The program adds each name at its first use.
local numbers = {}

-- The functions are looked up each time: scripts exchange them while they run (a login first, then the load).
-- Gives the request, and of its operation the number, or the name if that has none yet.
local function make_request()
   local text, tag
   if type(request) == "function" then
      text, tag = request()
   else
      text = wrk.request()
   end
   if type(tag) ~= "string" then
      tag = wrk.tag
      if not tag then
         return text, 0
      end
      if type(tag) == "number" then
         tag = tostring(tag)
      end
   end
   return text, numbers[tag] or tag
end

local function make_delay()
   return type(delay) == "function" and delay() or 0
end

-- The text of what a script raised with error(). What is no text gets one, and the place in the script, which Lua puts
-- before texts alone. Errors of the program itself are userdata, and stay as they are.
local function describe(raised)
   local kind = type(raised)
   if kind == "string" or kind == "number" or kind == "userdata" then
      return raised
   end
   local text = "it raised a " .. kind
   local meta = getmetatable(raised)
   if type(meta) == "table" and meta.__tostring then
      text = tostring(raised)
   elseif kind == "table" then
      local fields = {}
      for name, value in pairs(raised) do
         fields[#fields + 1] = tostring(name) .. " = " .. tostring(value)
      end
      sort(fields)
      text = text .. " with " .. concat(fields, ", ")
   end
   for level = 2, 20 do
      local info = getinfo(level, "Sl")
      if info and info.currentline > 0 then
         return info.short_src .. ":" .. info.currentline .. ": " .. text
      end
   end
   return text
end

local function results(worked, ...)
   if not worked then
      error((...), 0)
   end
   return ...
end

-- Calls a function of the script so that what it raises can be read.
local function guarded(call, ...)
   return results(xpcall(call, describe, ...))
end

local function next_request()
   return results(xpcall(make_request, describe))
end

local function next_delay()
   return results(xpcall(make_delay, describe))
end

local function on_response(status, headers, body)
   if type(response) == "function" then
      return results(xpcall(response, describe, status, headers, body))
   end
end

return guarded, next_request, next_delay, on_response, numbers
