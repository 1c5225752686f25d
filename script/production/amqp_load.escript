#!/usr/bin/env escript
%%! -noinput
%% Connections, channels and consumers that stay, messages through them, and a queue declared and deleted every 50 ms. Each
%% declaration's time goes into a file: "when-in-milliseconds how-long-in-microseconds".
-mode(compile).

main([Port, File]) ->
    {ok, _} = application:ensure_all_started(amqp_client),
    %% Of amqp_client's records, without its header files.
    {ok, Params} = amqp_uri:parse("amqp://guest:guest@127.0.0.1:" ++ Port),
    Connections = [connect(Params, 200) || _ <- lists:seq(1, 20)],
    [spawn_link(fun() -> traffic(Connection) end) || Connection <- Connections, _ <- [1, 2, 3]],
    {ok, Out} = file:open(File, [append]),
    declare(channel(hd(Connections)), Out, 1).

connect(_Params, 0) -> halt(1);
connect(Params, Tries) ->
    case amqp_connection:start(Params) of
        {ok, Connection} -> Connection;
        {error, _} -> timer:sleep(300), connect(Params, Tries - 1)
    end.

channel(Connection) ->
    {ok, Channel} = amqp_connection:open_channel(Connection),
    Channel.

declare(Channel, Out, N) ->
    Queue = iolist_to_binary(["declared-", integer_to_list(N)]),
    Started = erlang:monotonic_time(microsecond),
    {'queue.declare_ok', _, _, _} =
        amqp_channel:call(Channel, {'queue.declare', 0, Queue, false, false, false, false, false, []}),
    Took = erlang:monotonic_time(microsecond) - Started,
    {'queue.delete_ok', _} = amqp_channel:call(Channel, {'queue.delete', 0, Queue, false, false, false}),
    io:format(Out, "~w ~w~n", [os:system_time(millisecond), Took]),
    timer:sleep(50),
    declare(Channel, Out, N + 1).

traffic(Connection) ->
    Channel = channel(Connection),
    {'queue.declare_ok', Queue, _, _} =
        amqp_channel:call(Channel, {'queue.declare', 0, <<>>, false, false, true, true, false, []}),
    {'basic.consume_ok', _} =
        amqp_channel:subscribe(Channel, {'basic.consume', 0, Queue, <<>>, false, true, false, false, []}, self()),
    publish(Channel, Queue).

publish(Channel, Queue) ->
    Properties = list_to_tuple(['P_basic' | lists:duplicate(14, undefined)]),
    ok = amqp_channel:cast(Channel, {'basic.publish', 0, <<>>, Queue, false, false}, {amqp_msg, Properties, <<"hello">>}),
    drain(),
    timer:sleep(100),
    publish(Channel, Queue).

drain() -> receive _ -> drain() after 0 -> ok end.
