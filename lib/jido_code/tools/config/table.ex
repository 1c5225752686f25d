defmodule JidoCode.Tools.Config.Table do
  @moduledoc false
  # Every key of the library's configuration, and all that is known about it. What is read, checked at start and written in the
  # documentation comes from here; a new key is a new row.
  #
  # A row's keys:
  #   :key      its name under `config :jido_code_tools`
  #   :type     what it takes, see `JidoCode.Tools.Config.Type`
  #   :default  its value where nothing is configured
  #   :shown    the default as the documentation puts it, where its literal says little
  #   :doc      what it does, as Markdown that fits a cell
  #   :host?    true for a key that JidoCode's own configuration has as well: it is read under `config :jido_code`, too
  #   :strict   what holds when such a value has the wrong shape; the default unless given
  #   :secret?  true when no message may show its value

  alias JidoCode.Tools.Config.Type

  alias JidoCode.Tools.Tier

  @type row :: %{
          key: atom(),
          type: Type.t(),
          default: term(),
          shown: String.t(),
          doc: String.t(),
          host?: boolean(),
          strict: term(),
          secret?: boolean()
        }

  @network {:either, [{:one_of, [:none, :all]}, :ports]}
  @positive {:integer, 1, :infinity}
  @hour 3_600_000

  # The options of a session, as `JidoCode.Tools.Doors.SessionOptions` takes them from a command line.
  @session_options [
    tier: {:either, [:tier, {:one_of, Enum.map(Tier.all(), &Atom.to_string/1)}]},
    consent: {:either, [:text, {:list, :text}]},
    session: :text,
    node: {:either, [:text, :name]},
    cookie_file: :text,
    cookie: :text,
    consent_load: :boolean
  ]

  @rows [
    %{
      key: :tool_rate_limits,
      type: :rates,
      default: %{},
      doc:
        "`%{privileged: {20, 60_000}, \"ets_inspect\" => {100, 60_000}}`: calls in so many milliseconds, by tier or tool"
    },
    %{
      key: :tool_tiers,
      type: {:pairs, :text, :tier},
      default: %{},
      doc: "tiers of tools by their names; they win over what a tool declares"
    },
    %{
      key: :unknown_tool_tier,
      type: :tier,
      default: :privileged,
      host?: true,
      doc: "tier of a tool for which none is declared"
    },
    %{
      key: :project_namespaces,
      type: {:either, [{:one_of, [:all]}, :name, {:list, :name}]},
      default: nil,
      shown: "the started applications' modules",
      host?: true,
      # Nothing is the project's.
      strict: [],
      doc: "which processes and tables are the project's: a list of module prefixes, or `:all`"
    },
    %{
      key: :read_format_status,
      type: :boolean,
      default: false,
      doc: "read the state of modules with `format_status` through that function"
    },
    %{
      key: :node_linger_ms,
      type: @positive,
      default: 30_000,
      doc: "how long modules lent to another node stay after the last call"
    },
    %{
      key: :redaction_rules,
      type: {:list, :rule},
      default: [],
      doc:
        "`%{name: \"ticket\", pattern: \"TCK-[0-9]{12}\", replacement: \"[TICKET]\"}`, patterns in the syntax of Rust's `regex`"
    },
    %{
      key: :redaction_fields,
      type: {:list, :name},
      default: [],
      doc: "further names of fields whose values are secret: `[\"iban\"]`"
    },
    %{
      key: :known_secrets_refresh_ms,
      type: @positive,
      default: 15_000,
      doc: "how often the values that this node keeps secret are collected again"
    },
    %{
      key: :audit_buffer_size,
      # The upper end is the native log's own limit.
      type: {:integer, 1, 1_000_000},
      default: 10_000,
      host?: true,
      doc: "entries that the audit log holds"
    },
    %{
      key: :audit_key,
      type: {:bytes, 16},
      default: nil,
      shown: "random",
      secret?: true,
      doc: "key of the argument hashes; set it to compare hashes across restarts"
    },
    %{
      key: :audit_file,
      type: :text,
      default: nil,
      doc:
        "a file that every entry is also written to, before its call is answered; `mix jido.audit` shows and verifies it"
    },
    %{
      key: :audit_file_failure,
      type: {:one_of, [:deny, :warn]},
      default: :deny,
      doc: "what happens to calls while the file can't be written: none is allowed, or a warning is logged"
    },
    %{
      key: :audit_file_sync,
      type: {:either, [{:one_of, [:each]}, :every]},
      default: {:every, 1_000},
      doc:
        "when entries are flushed to disk, in case of a power failure: `:each` before the entry's call goes on, or `{:every, ms}`"
    },
    %{
      key: :session_options,
      type: {:keyword, @session_options},
      default: [],
      # It may hold a cookie.
      secret?: true,
      doc:
        "the defaults of `--tier`, `--consent`, `--node` and the like, for `mix jido.tool` and the MCP server"
    },
    %{
      key: :session_idle_ms,
      type: @positive,
      default: @hour,
      shown: "one hour",
      doc: "after this time without a call a session's grants, limits, shells and temporary folder go"
    },
    %{
      key: :max_heap_words,
      type: @positive,
      default: 1_000_000,
      doc: "heap of a handler's process, in words"
    },
    %{
      key: :max_binary_bytes,
      type: @positive,
      default: 64 * 1024 * 1024,
      shown: "64 MiB",
      doc: "binaries that it may hold outside of its heap"
    },
    %{
      key: :tools,
      type: {:list, :module},
      default: [],
      doc: "the project's own tools: modules with a `JidoCode.Tools.Definition`"
    },
    %{
      key: :security_middleware,
      type: :boolean,
      default: false,
      host?: true,
      # Neither of the two: the host's Executor makes the checks, and so does the pipeline.
      strict: :unclear,
      doc: "lets a host's own Executor run the checks"
    },
    %{
      key: :allowed_tasks,
      type: {:list, :mix_task},
      default: [],
      doc: "Mix tasks to allow beside the built-in ones, see `JidoCode.Tools.Security.MixPolicy`"
    },
    %{
      key: :alias_tasks,
      type: {:list, :mix_task},
      default: [],
      doc: "the same, for tasks that only a step of an alias may run"
    },
    %{
      key: :trusted_aliases,
      type: {:list, :text},
      default: [],
      doc: "Mix aliases whose steps may be functions"
    },
    %{
      key: :test_paths,
      type: {:list, :text},
      default: ["test", "apps/*/test"],
      doc: "where the project's tests are"
    },
    %{
      key: :allowed_commands,
      type: {:list, :text},
      default: [],
      doc: "commands to allow beside the built-in ones, see `JidoCode.Tools.Security.CommandPolicy`"
    },
    %{key: :git_network, type: :boolean, default: false, doc: "allows `git fetch` and `git pull`"},
    %{key: :git_push, type: :boolean, default: false, doc: "allows `git push`"},
    %{
      key: :command_confinement,
      type: {:one_of, [:best_effort, :required, :off]},
      default: :best_effort,
      # What is not understood must not confine less than was meant.
      strict: :required,
      doc:
        "`:required` refuses to run commands where this machine can't make a whole fence, `:off` runs them without any; see `mix jido.doctor`"
    },
    %{
      key: :command_read_paths,
      type: {:list, :text},
      default: [],
      doc: "folders and files that commands may read beside the system, the toolchain and the project"
    },
    %{
      key: :command_repository,
      type: :boolean,
      default: false,
      doc:
        "in a project that is a part of a git repository: commands read and write all of the repository, not the project alone"
    },
    %{
      key: :command_sockets,
      type: {:list, :text},
      default: [],
      shown: "PostgreSQL's, MySQL's and Redis'",
      doc: "further sockets of services, or their folders, that commands with network may reach"
    },
    %{
      key: :command_temp_bytes,
      type: @positive,
      default: 1024 * 1024 * 1024,
      shown: "1 GiB",
      doc: "how many bytes the commands of a session may keep in `/tmp`"
    },
    %{
      key: :command_cache_dir,
      type: :text,
      default: nil,
      shown: "`~/.cache/jido_code_tools`",
      doc: "where each project's own caches of packages are made"
    },
    %{
      key: :command_write_paths,
      type: {:list, :text},
      default: [],
      doc: "further folders that commands may write, for caches in unusual places"
    },
    %{
      key: :tool_network,
      type: {:pairs, :text, @network},
      default: %{},
      doc:
        "network of a tool's commands, `%{\"bash_execute\" => :none}`: `:none`, `:all` or `{:ports, [443]}`"
    },
    %{
      key: :mix_network,
      type: @network,
      default: :all,
      strict: :none,
      doc: "network of Mix and of tests, for databases and downloads"
    },
    %{
      key: :command_env,
      type: {:list, :text},
      default: [],
      doc: "further environment variables that commands inherit, see `JidoCode.Tools.Command.Environment`"
    },
    %{
      key: :command_limits,
      type:
        {:keyword,
         for(name <- ~w(cpu_seconds memory_bytes open_files file_bytes processes)a, do: {name, :limit})},
      default: [],
      shown: "see there",
      doc: "limits of each command, see `JidoCode.Tools.Command`"
    },
    %{
      key: :command_temp_dir,
      type: :text,
      default: nil,
      shown: "the system's",
      doc: "where the temporary folders of sessions and commands are made"
    },
    %{
      key: :command_runner,
      type: :text,
      default: nil,
      shown: "the library's",
      doc: "path of a copy of the program that runs commands, where it can't be kept in memory"
    },
    %{key: :background_shells, type: @positive, default: 8, doc: "background commands of a session"},
    %{
      key: :background_timeout_ms,
      type: @positive,
      default: @hour,
      shown: "one hour",
      doc: "how long a background command may run"
    },
    %{
      key: :background_keep_ms,
      type: @positive,
      default: 600_000,
      shown: "ten minutes",
      doc: "how long its output stays after its end"
    }
  ]

  shown = fn
    default when is_integer(default) -> Type.number(default)
    default -> "`#{inspect(default)}`"
  end

  @filled (for row <- @rows do
             Map.merge(
               %{host?: false, secret?: false, strict: row.default, shown: shown.(row.default)},
               row
             )
           end)

  @doc "All rows, in the order in which the documentation shows them."
  @spec rows() :: [row()]
  def rows, do: @filled

  @doc "The row of a key; an unknown one is a mistake in the library."
  @spec fetch!(atom()) :: row()
  for row <- @filled do
    def fetch!(unquote(row.key)), do: unquote(Macro.escape(row))
  end

  def fetch!(key), do: raise(ArgumentError, "#{inspect(key)} has no row in #{inspect(__MODULE__)}")
end
