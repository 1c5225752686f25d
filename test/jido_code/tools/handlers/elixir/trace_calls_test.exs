defmodule JidoCode.Tools.Handlers.Elixir.TraceCallsTest do
  # Traces processes of the whole VM.
  use ExUnit.Case, async: false

  import JidoCode.Tools.Test.CommandProcesses, only: [eventually: 1]

  alias JidoCode.Tools.{Answers, SecureExecutor}
  alias JidoCode.Tools.Handlers.Elixir.TraceCalls
  alias JidoCode.Tools.Introspection.CallTrace

  doctest JidoCode.Tools.Answers.Trace

  defmodule Elixir.TracedTill do
    def add(a, b), do: a + b
    def fail(reason), do: raise(ArgumentError, reason)
    def log_in(_user, _options), do: {:ok, %{password: "hunter2"}}
    def nested(0), do: :done
    def nested(n), do: {n, nested(n - 1)}
    def wait(_pid), do: receive(do: (:go_on -> :went_on))
  end

  alias TracedTill, as: Till
  @till "TracedTill"
  @scope %{project_namespaces: :all}

  defp trace(args, context \\ @scope), do: TraceCalls.execute(Map.put_new(args, "timeout", 3_000), context)

  # Calls again and again, from a process of its own, until the test ends.
  defp calling(fun, pause \\ 5) do
    spawn_link(fn ->
      Stream.repeatedly(fn ->
        try do
          fun.()
        rescue
          _error -> :raised
        end

        if pause > 0, do: Process.sleep(pause)
      end)
      |> Stream.run()
    end)
  end

  defp sessions,
    do: Enum.filter(apply(:trace, :session_info, [:all]) |> List.wrap(), &(inspect(&1) =~ "CallTrace"))

  describe "with trace sessions" do
    @describetag skip: if(CallTrace.available?(), do: false, else: "needs OTP 27")

    test "shows process, arguments, result and time, and stops at the count" do
      caller = calling(fn -> Till.add(1, [:two] |> length()) end)

      assert {:ok, %{"calls" => calls, "stopped" => "count"}} =
               trace(%{"reference" => @till <> ".add/2", "count" => 3})

      assert [%{"arguments" => ["1", "1"], "result" => "2", "took_us" => took, "process" => process} | _] =
               calls

      assert length(calls) == 3 and took >= 0 and process == inspect(caller)
      assert sessions() == []
    end

    test "shows exceptions, nested calls, and calls that have not ended" do
      calling(fn -> Till.fail("no change") end)

      assert {:ok, %{"calls" => [%{"exception" => exception}]}} =
               trace(%{"reference" => @till <> ".fail", "count" => 1})

      assert exception =~ "error: " and exception =~ "no change"

      calling(fn -> Till.nested(2) end, 200)
      assert {:ok, %{"calls" => calls}} = trace(%{"reference" => @till <> ".nested/1", "count" => 3})
      assert Enum.map(calls, & &1["arguments"]) |> Enum.uniq() |> length() == 3
      assert Enum.find(calls, &(&1["arguments"] == ["0"]))["result"] == ":done"

      calling(fn -> Till.wait(self()) end)
      test = self()
      spawn_link(fn -> send(test, trace(%{"reference" => @till <> ".wait/1", "timeout" => 300})) end)
      Process.sleep(100)
      calling(fn -> Till.wait(self()) end)
      assert_receive {:ok, %{"calls" => [call | _], "stopped" => "time"}}, 5_000
      refute Map.has_key?(call, "result")

      assert Answers.text("trace_calls", %{"calls" => [call], "stopped" => "time", "took_ms" => 300}) =~
               "had not ended"
    end

    test "hides what is under a sensitive name, and leaves arguments out where asked" do
      calling(fn -> Till.log_in("ada", api_key: "abc-secret") end)
      assert {:ok, result} = trace(%{"reference" => @till <> ".log_in/2", "count" => 1})
      refute inspect(result) =~ "hunter2"
      refute inspect(result) =~ "abc-secret"

      assert {:ok, %{"calls" => [call]}} =
               trace(%{"reference" => @till <> ".log_in/2", "count" => 1, "arguments" => false})

      refute Map.has_key?(call, "arguments")
    end

    test "stops by itself when the function is called too often, and says so" do
      for _ <- 1..4, do: calling(fn -> for n <- 1..10_000, do: Till.add(n, 1) end, 0)
      {time, {:ok, result}} = :timer.tc(fn -> trace(%{"reference" => @till <> ".add/2", "count" => 100}) end)
      # A hundred may be had before anybody notices the rate.
      assert result["stopped"] in ["rate", "count"]
      assert time < 3_500_000
      assert sessions() == []

      assert {:ok, %{stopped: {:rate, rate}}} =
               CallTrace.run({Till, :add, 2}, %{count: 1_000_000, timeout_ms: 3_000, arguments?: true})

      assert rate > 1_000
    end

    test "nothing is left when the caller is killed" do
      calling(fn -> Till.wait(self()) end)

      {caller, monitor} =
        spawn_monitor(fn -> trace(%{"reference" => @till <> ".wait/1", "timeout" => 60_000}) end)

      eventually(fn -> sessions() != [] end)
      Process.exit(caller, :kill)
      assert_receive {:DOWN, ^monitor, :process, ^caller, :killed}
      eventually(fn -> sessions() == [] end)
    end

    test "not called in time is not an error" do
      assert {:ok, %{"calls" => [], "note" => "It was not called" <> _}} =
               trace(%{"reference" => @till <> ".add/2", "timeout" => 150})
    end

    test "what is not a function of the project is refused" do
      assert {:error, "Function not found" <> _} = trace(%{"reference" => @till <> ".nothing/9"})
      assert {:error, "Function not found" <> _} = trace(%{"reference" => "No.Such.Module7.x/1"})
      assert {:error, "Invalid reference" <> _} = trace(%{"reference" => @till})
      assert {:error, "Function is blocked" <> _} = trace(%{"reference" => ":lists.map/2"})
      assert {:error, "Function is blocked" <> _} = trace(%{"reference" => "Enum.map/2"})

      assert {:error, "Function is blocked" <> _} =
               trace(%{"reference" => "JidoCode.Tools.SecureExecutor.call/3"})

      assert {:error, "Function is blocked" <> _} =
               trace(%{"reference" => @till <> ".add/2"}, %{project_namespaces: ["Other"]})
    end
  end

  unless CallTrace.available?() do
    test "without them says what it needs" do
      assert {:error, "Tracing needs OTP 27" <> _} = trace(%{"reference" => @till <> ".add/2"})
    end
  end

  test "takes a person's consent, whatever the tier, and says first when it can't be had" do
    for tier <- [:privileged, :read_only] do
      context = %{session_id: "trace-#{System.unique_integer([:positive])}", granted_tier: tier}
      call = SecureExecutor.new("trace_calls", %{"reference" => @till <> ".add/2"}, context)
      assert %{status: status, result: {:error, text}} = SecureExecutor.execute(call)

      # What is blocked is asked about, an error is not.
      if CallTrace.available?(),
        do: assert({status, text =~ ~r/onsent/} == {:blocked, true}),
        else: assert({status, text =~ "needs OTP 27"} == {:error, true})
    end
  end
end
