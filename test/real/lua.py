"""Lua: coroutines, errors through C calls (longjmp), closures, patterns, garbage collection."""
from real import real_program, which

SCRIPT = r'''
local function walk(n) for i = 1, n do coroutine.yield(i * i) end end
local sum = 0
for _ = 1, 50 do for v in coroutine.wrap(function() walk(20) end) do sum = sum + v end end
print(sum)
local function dive(n) if n == 0 then error({code = 7}) end return dive(n - 1) + 1 end
local ok, what = pcall(dive, 150)
print(ok, what.code)
print(pcall(string.rep))
print(select(2, xpcall(function() local t = nil; return t.x end, function(m) return "handled: " .. m end)))
print(pcall(table.sort, {3, 1, 2, 5, 4}, function(a, b) if a == 5 then error("compared", 0) end return a < b end))
local words = {}
for word, n in ("one=1, two=2, three=3"):gmatch("(%a+)=(%d)") do words[#words + 1] = word:upper() .. n end
print(table.concat(words, " "), ("x"):rep(3, "-"), math.type(3 // 2), 7.0 // 2, 1e15, 2^53)
local kept = setmetatable({}, {__mode = "k"})
for i = 1, 5000 do kept[{i}] = string.format("%05d", i) end
collectgarbage()
print(next(kept), collectgarbage("count") < 2000)
local deep = function(f, n) return n == 0 and "bottom" or f(f, n - 1) end
print(deep(deep, 20000))
io.stderr:write("to stderr\n")
os.exit(6, true)
'''

real_program([which("lua5.4"), "-e", SCRIPT], status=6)
