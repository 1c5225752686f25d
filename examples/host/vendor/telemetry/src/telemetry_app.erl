-module(telemetry_app).
-behaviour(application).
-behaviour(supervisor).
-export([start/2, stop/1, init/1]).

start(_Type, _Args) -> supervisor:start_link({local, telemetry_sup}, ?MODULE, []).

stop(_State) -> ok.

%% The table lives as long as its supervisor.
init([]) ->
    ets:new(telemetry, [named_table, public, {read_concurrency, true}]),
    {ok, {#{}, []}}.
