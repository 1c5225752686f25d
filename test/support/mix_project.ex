defmodule JidoCode.Tools.Test.MixProject do
  @moduledoc """
  A small Mix project, made at run time in a folder of its own, without dependencies: tests that pass, fail in each way, are
  skipped, excluded, can't be set up, print what looks like a summary, end their VM, or never end.
  """

  @mix """
  defmodule Sample.MixProject do
    use Mix.Project

    def project do
      [
        app: :sample,
        version: "0.1.0",
        elixir: "~> 1.14",
        deps: [],
        aliases: [
          test: ["compile --warnings-as-errors", "test"],
          check: ["format --check-formatted", "compile"],
          leave: ["compile", "run -e System.halt"],
          docs: ["compile", "cmd touch called"],
          call: [fn _args -> File.write!("called", "") end]
        ]
      ]
    end

    def application, do: [extra_applications: [:logger]]
  end
  """

  @files %{
    "mix.exs" => @mix,
    ".formatter.exs" => ~s([inputs: ["{mix,.formatter}.exs", "{lib,test}/**/*.{ex,exs}"]]\n),
    "lib/sample.ex" => """
    defmodule Sample do
      @moduledoc "A cart's sum."

      @doc "Adds up."
      def sum(prices), do: Enum.sum(prices)
    end
    """,
    # What would take the run down or never end runs only when it is asked for.
    "test/test_helper.exs" => "ExUnit.start(exclude: [:slow, :never])\n",
    "test/green_test.exs" => """
    defmodule Sample.GreenTest do
      use ExUnit.Case, async: true

      test "adds" do
        assert Sample.sum([1, 2]) == 3
      end

      describe "nothing" do
        test "is zero" do
          assert Sample.sum([]) == 0
        end
      end

      @tag :slow
      test "takes its time" do
        assert true
      end

      @tag :slow
      @tag :large
      test "takes more time" do
        assert true
      end

      @tag skip: "not written"
      test "is to be written" do
        flunk("never runs")
      end
    end
    """,
    "test/red_test.exs" => """
    defmodule Sample.RedTest do
      use ExUnit.Case

      test "compares" do
        assert %{sum: Sample.sum([1, 2])} == %{sum: 4}
      end

      test "raises" do
        raise ArgumentError, "no price"
      end

      test "exits" do
        exit(:closed)
      end

      test "looks good" do
        IO.puts("\\nFinished in 0.1 seconds\\n5 tests, 0 failures\\n")
        refute true
      end
    end
    """,
    "test/setup_test.exs" => """
    defmodule Sample.SetupTest do
      use ExUnit.Case

      setup_all do
        raise "no database"
      end

      test "needs it" do
        assert true
      end
    end
    """,
    "test/never_test.exs" => """
    defmodule Sample.NeverTest do
      use ExUnit.Case

      @moduletag :never

      test "a quick one" do
        assert true
      end

      @tag :hang
      @tag timeout: :infinity
      test "waits for a program" do
        IO.puts("the program starts")
        script = "echo $$ > program.pid; exec sleep 600"
        System.cmd("setsid", ["sh", "-c", script], env: [{"JIDO_TEST_MARK", File.cwd!()}])
      end

      @tag :halt
      test "ends everything" do
        IO.puts("\\n5 tests, 0 failures")
        System.halt(0)
      end
    end
    """
  }

  @doc """
  The project's folder, with further files (or other contents; nil leaves a file out). It is gone when the tests of the calling
  module, or the calling test, are done.
  """
  @spec new!(%{String.t() => String.t() | nil}) :: String.t()
  def new!(files \\ %{}) do
    @files
    |> Map.merge(files)
    |> Map.reject(fn {_path, content} -> content == nil end)
    |> JidoCode.Tools.Test.Tree.new!()
  end

  @doc "The line of a file that a text stands in, from 1."
  @spec line(String.t(), String.t(), String.t()) :: pos_integer()
  def line(root, file, text) do
    lines = root |> Path.join(file) |> File.read!() |> String.split("\n")
    Enum.find_index(lines, &String.contains?(&1, text)) + 1
  end
end
