-- GET of random ids from 1 to 10000. Each thread and each run draws the same sequence, since nothing seeds it.
request = function()
   return wrk.format("GET", "/v0/entity?id=" .. math.random(1, 10000))
end
