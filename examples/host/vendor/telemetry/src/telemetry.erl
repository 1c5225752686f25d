%% A stand-in for the library of this name, with its contract: handlers are attached by id, called in the process that executes
%% the event with (EventName, Measurements, Metadata, Config), and detached when they fail.
-module(telemetry).
-export([attach/4, attach_many/4, detach/1, list_handlers/1, execute/2, execute/3]).
-include_lib("kernel/include/logger.hrl").

attach(Id, Event, Function, Config) -> attach_many(Id, [Event], Function, Config).

attach_many(Id, Events, Function, Config) when is_function(Function, 4) ->
    [true = is_atom(Part) || Event <- Events, Part <- Event],
    case ets:insert_new(?MODULE, {Id, Events, Function, Config}) of
        true -> ok;
        false -> {error, already_exists}
    end.

detach(Id) ->
    case ets:take(?MODULE, Id) of
        [] -> {error, not_found};
        [_] -> ok
    end.

list_handlers(Prefix) ->
    [#{id => Id, event_name => Event, function => Function, config => Config}
     || {Id, Events, Function, Config} <- ets:tab2list(?MODULE), Event <- Events, lists:prefix(Prefix, Event)].

execute(Event, Measurements) -> execute(Event, Measurements, #{}).

execute([_ | _] = Event, Measurements, Metadata) when is_map(Measurements), is_map(Metadata) ->
    lists:foreach(
        fun({Id, Events, Function, Config}) ->
            lists:member(Event, Events) andalso call(Id, Function, Event, Measurements, Metadata, Config)
        end,
        ets:tab2list(?MODULE)).

call(Id, Function, Event, Measurements, Metadata, Config) ->
    try
        Function(Event, Measurements, Metadata, Config)
    catch
        Class:Reason ->
            detach(Id),
            ?LOG_ERROR("Handler ~p has failed and has been detached. Class=~p Reason=~p", [Id, Class, Reason])
    end.
