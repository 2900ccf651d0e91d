program frameless;
{ Free Pascal makes no unwind tables, and frames only where it needs them: main -> outer -> a -> b -> c -> getppid, where a, b and c have none at -O2,
  outer has one for its try, and the run-time library has both kinds. usage: frameless, built with -O2 -Xs- (names are kept) }
{$mode objfpc}
uses baseunix;
var
  sink: int64 = 0;
  k: longint;

function c(n: int64): int64;
begin
  sink := sink + fpgetppid;
  result := n + sink;
end;

function b(n: int64): int64;
begin
  result := c(n + 1) + 1;
end;

function a(n: int64): int64;
begin
  result := b(n) + n;
end;

function outer(n: int64): int64;
begin
  result := 0;
  try
    result := a(n) + 2;
  finally
    sink := sink + 1;
  end;
end;

begin
  for k := 1 to 20 do
    sink := sink + outer(k);
end.
