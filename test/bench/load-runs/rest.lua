local body = '{"info":{"role":"user"},"parts":[{"type":"text","text":"' .. string.rep("x", 1024) .. '"}]}'
local json = { ["content-type"] = "application/json" }
local calls = 0

function request()
  calls = calls + 1
  local path = "/session/load-" .. (calls * 7 % 64) .. "/message"
  if calls % 5 == 0 then return wrk.format("POST", path, json, body) end
  return wrk.format("GET", path .. "?limit=20&newest_first=true")
end
