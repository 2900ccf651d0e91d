%% Erlang at work whose stacks are known: ask() keeps what process_info(current_stacktrace) says of its own stack, and then sets a signal to what it is.
%%
%% usage: erl -noshell -s beam_stack main -extra FILE STACKS   is ready when FILE.up is there, begins when FILE.go is; then writes FILE and FILE.done, and waits. -1: never asks, never ends
%%        ... -extra deep N              asks for ever from N calls
%% Lines of FILE: for each stack its functions, innermost first, module:function/arity and, if it is known, file:line, then an empty line. What returns to the same place
%% again and again stands there once, as Erlang tells it.
-module(beam_stack).
-export([main/0, init/1, handle_call/3, handle_cast/2, plus/2, server/1]).

main() ->
    [How, N] = init:get_plain_arguments(),
    main(How, list_to_integer(N)).

main("deep", N) -> down(N);
main(File, N) ->
    erlang:system_flag(backtrace_depth, 1000),
    put(left, 3), % whatever is loaded on the way
    [work(I) || I <- [1, 2, 3, 10, 50]],
    erase(told),
    put(left, N),
    touch(File, ".up"),
    wait(File ++ ".go"),
    N < 0 andalso [spawn(fun() -> put(left, -1), forever(1) end) || _ <- [1, 2]],
    forever(1),
    ok = file:write_file(File, lists:reverse(get(told))),
    touch(File, ".done"),
    timer:sleep(infinity).

%% Of a call that is known never to return the compiler makes a jump.
down(1) -> asks(get(never));
down(N) -> down(N - 1) + N.
asks(undefined) -> os:set_signal(sigusr2, default), asks(get(never));
asks(X) -> X.

touch(File, Suffix) -> ok = file:write_file(File ++ Suffix, "").

wait(Path) ->
    case filelib:is_file(Path) of
        true -> ok;
        false -> timer:sleep(100), wait(Path)
    end.

forever(I) ->
    case get(left) of
        0 -> ok;
        _ -> work(I), forever(I + 1)
    end.

ask() ->
    case get(left) of
        N when N > 0 ->
            put(left, N - 1),
            {_, S} = process_info(self(), current_stacktrace),
            put(told, [told(S) | case get(told) of undefined -> []; T -> T end]),
            os:set_signal(sigusr2, default);
        _ -> ok
    end,
    1.

%% The first asks two lines further down.
told([Ask | S]) -> [told(Ask, 2), [told(F, 0) || F <- S], "\n"].
told({M, F, A, [{file, File}, {line, L}]}, More) -> io_lib:format("~w:~w/~w ~s:~w~n", [M, F, A, filename:basename(File), L + More]);
told({M, F, A, _}, _) -> io_lib:format("~w:~w/~w~n", [M, F, A]).

%% ---- callbacks of all kinds
work(I) ->
    L = lists:seq(1, 20),
    _ = lists:map(fun(X) when X =:= 7 -> X + ask(); (X) -> X * I end, L),
    _ = lists:foldl(fun(3, A) -> A + ask(); (X, A) -> A + X end, 0, L),
    _ = lists:sort(fun(5, _) -> ask() =:= 1; (A, B) -> A =< B end, L),
    _ = [plus(X, I) || X <- L, X rem 9 =:= 0],
    _ = << <<(byte(X))>> || X <- L >>,
    _ = maps:fold(fun(_, V, A) -> V + A + ask() end, 0, #{a => 1, {b, I} => 2}),
    _ = fib(12),
    _ = deep(1 + I rem 40),
    _ = caught(I),
    _ = apply(?MODULE, plus, [9, I]),
    _ = many(I, 2, 3, 4, 5, 6),
    _ = timed(fun() -> ask() end),
    _ = kept(I),
    _ = binary(list_to_binary(L), 0),
    _ = called(I),
    _ = string(I),
    ok.

plus(9, B) -> 9 + B + ask();
plus(A, B) -> A + B.

byte(4) -> 4 + ask();
byte(X) -> X.

fib(0) -> ask();
fib(1) -> 1;
fib(5) -> ask(), fib(4) + fib(3);
fib(N) -> fib(N - 1) + fib(N - 2).

deep(0) -> [ask()];
deep(N) -> [N | deeper(N - 1)].
deeper(0) -> [ask(), ask()];
deeper(N) -> {_, T} = {N, deep(N - 1)}, [N, N | T].

caught(I) ->
    try thrown(I) + ask()
    catch throw:{_, X} -> X + ask();
          error:badarith -> ask()
    after ask()
    end.
thrown(I) when I rem 3 =:= 0 -> throw({no, ask()});
thrown(I) when I rem 3 =:= 1 -> 1 / (I - I);
thrown(I) -> I.

%% a frame with many words
many(A, B, C, D, E, F) ->
    G = plus(A, B), H = plus(B, C), I = plus(C, D), J = plus(9, E), K = plus(E, F),
    L = ask(), M = plus(9, L),
    A + B + C + D + E + F + G + H + I + J + K + L + M.

timed(F) -> {_, X} = timer:tc(F), X.

%% in the middle of a collection's work
kept(I) ->
    X = [{Y, integer_to_list(Y)} || Y <- lists:seq(1, 50)],
    ask(),
    I rem 50 =:= 0 andalso garbage_collect(),
    length(X) + ask().

binary(<<>>, A) -> A + ask();
binary(<<X, T/binary>>, A) -> binary(T, A + X).

string(I) -> length(lists:flatten(io_lib:format("~p ~s ~w", [I, "text", {a, I}]))) + ask().

%% ---- another process, which asks in the place of this one
called(I) when I rem 10 =/= 0 -> 0;
called(_) ->
    {ok, P} = gen_server:start(?MODULE, get(left), []),
    {Left, Told} = gen_server:call(P, ask),
    Q = spawn(?MODULE, server, [self()]),
    Q ! {self(), ask, Left},
    {Left2, Told2} = receive {Q, X} -> X end,
    put(left, Left2),
    put(told, Told2 ++ Told ++ case get(told) of undefined -> []; T -> T end),
    gen_server:stop(P),
    0.

init(Left) -> put(left, Left), put(told, []), {ok, 0}.
handle_call(ask, _, N) -> ask(), {reply, {get(left), get(told)}, N + 1}.
handle_cast(_, N) -> {noreply, N}.

server(Parent) ->
    put(told, []),
    receive {Parent, ask, Left} -> put(left, Left), ask(), Parent ! {self(), {get(left), get(told)}} end.
