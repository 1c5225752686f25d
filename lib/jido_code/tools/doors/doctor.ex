defmodule JidoCode.Tools.Doors.Doctor do
  @moduledoc false
  # What this machine gives to hold commands, found out by really running one, and what follows from it.

  alias JidoCode.Tools.Command

  @type finding :: %{name: String.t(), value: String.t(), ok?: boolean()}
  @type promise :: %{text: String.t(), kept?: boolean(), mend: String.t() | nil}
  @type t :: %{facts: [finding()], promises: [promise()]}

  @doc "Looks at the machine; runs one command that does nothing, confined as far as can be."
  @spec look() :: t()
  def look do
    case :os.type() do
      {:unix, :linux} -> linux(probe())
      other -> %{facts: versions(), promises: [elsewhere(other)]}
    end
  end

  @doc "True when every promise can be kept."
  @spec whole?(t()) :: boolean()
  def whole?(found), do: Enum.all?(found.promises, & &1.kept?)

  defp elsewhere({_family, name}) do
    %{
      text: "There is no fence on this system (#{name}): only Linux can make one. Commands do not run here",
      kept?: false,
      mend: "Use Linux, in a virtual machine if need be."
    }
  end

  # Ports ask for every layer that there is.
  defp probe do
    with {:error, reason} <- Command.run(["true"], network: {:ports, [1]}, timeout: 20_000),
         do: {:error, Command.explain(reason)}
  end

  @doc "What follows from a run; its result or error is `probe`."
  @spec linux({:ok, Command.Result.t()} | {:error, String.t()}) :: t()
  def linux({:error, text}) do
    %{
      facts: [fact("kernel", release(), true) | versions()],
      promises: [
        %{
          text: "Commands can be run: #{text}",
          kept?: false,
          mend: "Build the library anew: mix deps.compile jido_code_tools --force"
        }
      ]
    }
  end

  def linux({:ok, result}) do
    confinement = result.confinement
    missing = confinement["missing"]
    lacks = fn layer -> Enum.find(missing, &String.starts_with?(&1, layer)) end
    namespaces = lacks.("namespaces")
    landlock = confinement["landlock_abi"]
    processes = result.limits["processes"] || "not asked for"

    facts = [
      fact("kernel", release(), true),
      fact(
        "namespaces",
        namespaces || "user, mount, pid, ipc and uts, made by the command runner",
        namespaces == nil
      ),
      fact("bubblewrap", bubblewrap(), true),
      fact("Landlock", if(landlock > 0, do: "ABI #{landlock}", else: "none"), landlock >= 6),
      fact("seccomp", lacks.("system calls") || "filters", lacks.("system calls") == nil),
      fact("limit of processes", processes, not String.starts_with?(processes, "not applied"))
    ]

    %{facts: facts ++ versions(), promises: promises(namespaces, landlock, lacks.("system calls"), processes)}
  end

  defp promises(namespaces, landlock, seccomp, processes) do
    [
      promise(
        "Commands see only the system, the toolchain, the project and its caches, and write only the project, its caches and /tmp",
        namespaces == nil or landlock >= 3,
        mend_landlock()
      ),
      promise(
        "No command changes git's configuration or hooks, or permissions and times of files outside; in home folders only the toolchain is visible; " <>
          "nothing outside can be named or signalled; no process outlives its command",
        namespaces == nil,
        mend_namespaces()
      ),
      promise(
        "Commands of the network mode :none reach local sockets only; dangerous system calls are refused",
        seccomp == nil,
        "Use x86-64 or AArch64."
      ),
      promise(
        "Sockets without a place in the file system (desktop buses) are out of reach",
        landlock >= 6,
        mend_landlock()
      ),
      promise("The network mode {:ports, list} holds", landlock >= 4, mend_landlock()),
      promise(
        "The number of processes of a command is limited",
        not String.starts_with?(processes, "not applied"),
        "Run as an ordinary user, or let this user write the pids cgroup it is in (with systemd: systemd-run --user --scope -p Delegate=yes ...)."
      )
    ]
  end

  defp promise(text, kept?, mend), do: %{text: text, kept?: kept?, mend: if(kept?, do: nil, else: mend)}

  defp fact(name, value, ok?), do: %{name: name, value: value, ok?: ok?}

  # The switches by which systems turn user namespaces off, with the value that does it.
  @switches [
    {"kernel/apparmor_restrict_unprivileged_userns", "1", "0"},
    {"kernel/unprivileged_userns_clone", "0", "1"},
    {"user/max_user_namespaces", "0", "10000"}
  ]

  defp mend_namespaces do
    found =
      Enum.find(@switches, fn {name, off, _on} ->
        match?(
          {:ok, ^off},
          with({:ok, text} <- File.read("/proc/sys/" <> name), do: {:ok, String.trim(text)})
        )
      end)

    case found do
      {name, _off, on} ->
        "sudo sysctl -w #{String.replace(name, "/", ".")}=#{on} (and in a file of /etc/sysctl.d, to keep it)"

      nil ->
        if container?(),
          do:
            "Start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined",
          else: "Linux 5.12 or newer with user namespaces is needed."
    end
  end

  defp mend_landlock do
    "Linux 6.12 or newer, with landlock in the list of its lsm= parameter (see /sys/kernel/security/lsm), is needed for everything that is used of Landlock."
  end

  defp container?, do: Enum.any?(~w(/.dockerenv /run/.containerenv), &File.exists?/1)

  defp release do
    case File.read("/proc/sys/kernel/osrelease") do
      {:ok, text} -> String.trim(text)
      _unknown -> "unknown"
    end
  end

  defp bubblewrap do
    if System.find_executable("bwrap"), do: "found, not used", else: "not found, not used"
  end

  defp versions do
    [
      fact("Elixir", System.version(), Version.match?(System.version(), ">= 1.14.0")),
      fact("OTP", System.otp_release(), String.to_integer(System.otp_release()) >= 25),
      rust()
    ]
  end

  # Needed for building only.
  defp rust do
    with cargo when is_binary(cargo) <- System.find_executable("cargo"),
         {text, 0} <- System.cmd(cargo, ["--version"], stderr_to_stdout: true) do
      fact("Rust", String.trim(text), true)
    else
      _none -> fact("Rust", "no cargo on PATH; it is needed only to build the library", true)
    end
  end
end
