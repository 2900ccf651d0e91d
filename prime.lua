function prime_event() local n=0; for i=2,20000 do local p=true; for j=2,math.floor(math.sqrt(i)) do if i%j==0 then p=false break end end if p then n=n+1 end end return n end
function event() prime_event() end
