defmodule JidoCode.Tools.Definitions.Elixir do
  @moduledoc """
  The six Elixir tools as data, for a model to read and for `JidoCode.Tools.Arguments` to check calls by.

  Each is a map with `:name`, `:description`, `:handler` and `:parameters`; a parameter has `:name`, `:type`,
  `:required`, `:description` and where it applies `:enum`, `:items` and `:default`. A host builds its own tool
  structures from them.
  """

  alias JidoCode.Tools.Handlers.Elixir, as: Handlers

  @doc "All six, in a stable order."
  @spec all() :: [map()]
  def all do
    [
      mix_task(),
      run_exunit(),
      get_process_state(),
      inspect_supervisor(),
      ets_inspect(),
      fetch_elixir_docs()
    ]
  end

  @doc "Runs a Mix task of the project."
  @spec mix_task() :: map()
  def mix_task do
    %{
      name: "mix_task",
      description:
        "Run one Mix task in the project and get its output and exit code. Allowed: " <>
          Enum.join(Handlers.allowed_tasks(), ", ") <>
          ". Each task takes a limited set of options; anything that runs other code, leaves the project or " <>
          "publishes is refused. A non-zero exit code is a normal answer. To run tests prefer run_exunit, which " <>
          "returns structured results.",
      handler: Handlers.MixTask,
      parameters: [
        %{
          name: "task",
          type: :string,
          required: true,
          description: "Mix task name, e.g. \"compile\" or \"deps.tree\"."
        },
        %{
          name: "args",
          type: :array,
          items: :string,
          required: false,
          default: [],
          description:
            "Arguments of the task, one list item each, e.g. [\"--warnings-as-errors\"]. No shell is involved."
        },
        %{
          name: "env",
          type: :string,
          required: false,
          enum: Handlers.allowed_envs(),
          description: "Mix environment (default dev; prod is never allowed)."
        },
        %{
          name: "timeout",
          type: :integer,
          required: false,
          default: 60_000,
          description: "Time limit in milliseconds (default 60000, maximum 300000)."
        }
      ]
    }
  end

  @doc "Runs the project's tests."
  @spec run_exunit() :: map()
  def run_exunit do
    %{
      name: "run_exunit",
      description:
        "Run the project's ExUnit tests and get structured results: totals, every failure with module, file, line " <>
          "and message, and timing. Without a path the whole suite runs. Failing tests are a normal answer.",
      handler: Handlers.RunExunit,
      parameters: [
        %{
          name: "path",
          type: :string,
          required: false,
          description: "Test file or folder inside the project's test folder, relative to the project root."
        },
        %{
          name: "line",
          type: :integer,
          required: false,
          description: "Run only the test at this line; needs path to be a file."
        },
        %{
          name: "tag",
          type: :string,
          required: false,
          description: "Run only tests with this tag, as \"name\" or \"name:value\"."
        },
        %{
          name: "exclude_tag",
          type: :string,
          required: false,
          description:
            "Leave out tests with this tag, as \"name\" or \"name:value\"; one that has the wanted tag too still runs."
        },
        %{
          name: "max_failures",
          type: :integer,
          required: false,
          description: "Stop after this many failures (1 or more)."
        },
        %{
          name: "seed",
          type: :integer,
          required: false,
          description: "Seed of the test order; repeat a seed to repeat an order."
        },
        %{
          name: "trace",
          type: :boolean,
          required: false,
          default: false,
          description: "Run tests one after the other without ExUnit's own timeouts (slower)."
        },
        %{
          name: "timeout",
          type: :integer,
          required: false,
          default: 120_000,
          description: "Time limit in milliseconds (default 120000, maximum 300000)."
        }
      ]
    }
  end

  @doc "Shows the state of a process."
  @spec get_process_state() :: map()
  def get_process_state do
    %{
      name: "get_process_state",
      description:
        "Show the current state of a registered GenServer, Agent or gen_statem of the project, with facts about its " <>
          "process (status, mailbox length, memory). Other processes get the facts only. Looking never disturbs the " <>
          "process: a busy one is watched until it is idle or time runs out. Sensitive fields are hidden and large " <>
          "states are cut with a note of what is missing. For supervisors use inspect_supervisor.",
      handler: Handlers.ProcessState,
      parameters: [
        %{
          name: "process",
          type: :string,
          required: true,
          description: "Registered name, e.g. \"MyApp.Worker\" or \":my_worker\". Pids are not accepted."
        },
        %{
          name: "timeout",
          type: :integer,
          required: false,
          default: 5_000,
          description: "How long to wait for a busy process, in milliseconds (default 5000, maximum 30000)."
        }
      ]
    }
  end

  @doc "Shows a supervision tree."
  @spec inspect_supervisor() :: map()
  def inspect_supervisor do
    %{
      name: "inspect_supervisor",
      description:
        "Show a supervisor of the project and what it supervises, as a tree and as data: ids, types, pids, which " <>
          "children run, restart or are missing. At most 50 children of each supervisor are listed. Start here to " <>
          "find the names of processes, then use get_process_state.",
      handler: Handlers.SupervisorTree,
      parameters: [
        %{
          name: "supervisor",
          type: :string,
          required: true,
          description: "Registered name of the supervisor, e.g. \"MyApp.Supervisor\". Pids are not accepted."
        },
        %{
          name: "depth",
          type: :integer,
          required: false,
          default: 2,
          description: "How many levels to descend (default 2, maximum 5); 1 lists direct children."
        }
      ]
    }
  end

  @doc "Looks into ETS tables."
  @spec ets_inspect() :: map()
  def ets_inspect do
    %{
      name: "ets_inspect",
      description:
        "Look into the project's named ETS tables without changing them. list: all tables; info: one table's " <>
          "properties (memory in words, and in bytes as memory_bytes); lookup: the rows of one key; sample: a few " <>
          "rows. Rows can be read from public tables only. Sensitive fields are hidden, large rows are cut.",
      handler: Handlers.EtsInspect,
      parameters: [
        %{
          name: "operation",
          type: :string,
          required: true,
          enum: ["list", "info", "lookup", "sample"],
          description: "What to do. lookup also needs key; info, lookup and sample need table."
        },
        %{
          name: "table",
          type: :string,
          required: false,
          description: "Table name, e.g. \"my_cache\" or \"MyApp.Cache\"."
        },
        %{
          name: "key",
          type: :string,
          required: false,
          description:
            "Key for lookup, written as an Elixir literal: 42, 1.5, :name, MyApp.Mod, \"text\", true, " <>
              "{:user, 1}, [1, 2]. Plain text without quotes is taken as a string."
        },
        %{
          name: "limit",
          type: :integer,
          required: false,
          default: 10,
          description: "Most rows to return for lookup and sample (default 10, maximum 100)."
        }
      ]
    }
  end

  @doc "Reads documentation."
  @spec fetch_elixir_docs() :: map()
  def fetch_elixir_docs do
    %{
      name: "fetch_elixir_docs",
      description:
        "Read the documentation, types and specs of an Elixir or Erlang module that the project can load: its own, " <>
          "its dependencies', the standard library's. With a module only: its description and an index of all " <>
          "functions and types, one line each. With function (and arity): the full text, signatures and specs. " <>
          "This is the documentation of the versions in use; prefer it to memory and to searching source files.",
      handler: Handlers.FetchDocs,
      parameters: [
        %{
          name: "module",
          type: :string,
          required: true,
          description: "Module name, e.g. \"Enum\", \"MyApp.Worker\" or \":lists\"."
        },
        %{
          name: "function",
          type: :string,
          required: false,
          description: "Function, macro, type or callback name, e.g. \"map\"."
        },
        %{
          name: "arity",
          type: :integer,
          required: false,
          description: "Number of arguments; ignored without function."
        },
        %{
          name: "include_callbacks",
          type: :boolean,
          required: false,
          default: false,
          description: "Also list the callbacks that a behaviour asks for (default false)."
        }
      ]
    }
  end
end
