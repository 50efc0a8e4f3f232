-- The `wrk` table that scripts know. It arrives filled with what the command line and the URL say.
local wrk = ...
local concat, len, pairs, tostring, type = table.concat, string.len, pairs, tostring, type

-- What a script prints stays in order with the report, which does not go through C's buffers.
io.stdout:setvbuf("line")

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
   for name, value in pairs(headers) do
      text[n + 1] = name
      text[n + 2] = ": "
      text[n + 3] = tostring(value)
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
   if not wrk.headers["Host"] then
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

-- The functions are looked up each time: scripts exchange them while they run (a login first, then the load).
local function next_request()
   if type(request) == "function" then
      return request()
   end
   return wrk.request()
end

local function next_delay()
   return type(delay) == "function" and delay() or 0
end

local function on_response(status, headers, body)
   if type(response) == "function" then
      response(status, headers, body)
   end
end

return next_request, next_delay, on_response
