local service = "/sessionpool.v1.MessageService/"
local message = '{"info":{"role":"user"},"parts":[{"type":"text","text":"' .. string.rep("x", 1024) .. '"}]}'
local json = { ["content-type"] = "application/json" }
local calls = 0

function request()
  calls = calls + 1
  local session = '{"session_id":"load-' .. (calls * 7 % 64) .. '",'
  if calls % 5 == 0 then return wrk.format("POST", service .. "AppendMessage", json, session .. '"message":' .. message .. "}") end
  return wrk.format("POST", service .. "ListMessages", json, session .. '"limit":20,"newest_first":true}')
end
