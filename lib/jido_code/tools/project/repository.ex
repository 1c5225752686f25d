defmodule JidoCode.Tools.Project.Repository do
  @moduledoc false
  # A project that is a part of a git repository: commands write the project alone, so that git could do a line that changes the
  # whole tree only by halves. Such a line is refused before it starts, unless a person gave the whole repository
  # (`config :jido_code_tools, command_repository: true`, `--repository`).

  alias JidoCode.Tools.Config

  @doc "The top of the repository that the project is a part of; nil for one of its own, or none."
  @spec around(String.t()) :: String.t() | nil
  def around(root), do: if(not git?(root), do: above(Path.dirname(root), root))

  defp above(folder, below) when folder == below, do: nil
  defp above(folder, _below), do: if(git?(folder), do: folder, else: above(Path.dirname(folder), folder))

  defp git?(folder), do: match?({:ok, _entry}, File.lstat(Path.join(folder, ".git")))

  @doc "The folders that commands write for the project's repository."
  @spec written(String.t()) :: [String.t()]
  def written(root), do: if(Config.get(:command_repository), do: List.wrap(around(root)), else: [])

  @doc "Refuses commands, each the words of a program, by which git would change more than the project."
  @spec approve([[String.t()]], String.t(), String.t()) :: :ok | {:error, String.t()}
  def approve(commands, root, folder) do
    lines = for ["git" | arguments] <- commands, do: arguments

    with [_ | _] <- lines,
         false <- Config.get(:command_repository),
         top when is_binary(top) <- around(root),
         words when is_list(words) <- Enum.find_value(lines, &beyond(&1, folder)) do
      {:error,
       "git #{Enum.join(words, " ")} changes the whole repository in #{top}, and commands write only the part of it that is this " <>
         "project. Name paths of the project (git restore PATH, git checkout -- PATH, git add PATH, git commit -m TEXT PATH), or " <>
         "ask a person for --repository."}
    else
      _nothing_beyond -> :ok
    end
  end

  # The words that make it reach beyond, or nil.
  defp beyond(["-C", folder | rest], cwd), do: beyond(rest, Path.expand(folder, cwd))
  defp beyond(["-" <> _option | rest], cwd), do: beyond(rest, cwd)

  defp beyond([subcommand | rest], cwd),
    do: if(beyond?(subcommand, rest, cwd), do: [subcommand | hd_option(rest)])

  defp beyond([], _cwd), do: nil

  defp hd_option(["-" <> _rest = option | _more]), do: [option]
  defp hd_option(_rest), do: []

  defp beyond?(subcommand, _rest, _cwd) when subcommand in ~w(merge rebase cherry-pick revert pull am apply),
    do: true

  defp beyond?("reset", rest, _cwd), do: Enum.any?(rest, &(&1 in ~w(--hard --merge --keep)))
  defp beyond?("stash", [word | _rest], _cwd) when word in ~w(list show drop), do: false
  defp beyond?("stash", ["push" | rest], _cwd), do: not paths?(rest)
  defp beyond?("stash", _rest, _cwd), do: true
  defp beyond?("add", rest, cwd), do: some?(rest, ~w(-A -u --all --update)) and not names?(rest, cwd)
  defp beyond?("commit", rest, _cwd), do: Enum.any?(rest, &(&1 == "--all" or &1 =~ ~r/^-[qvnsoi]*a/))

  # A new branch from here changes no file.
  defp beyond?("checkout", [new, _name], _cwd) when new in ~w(-b -B --orphan), do: false
  defp beyond?("checkout", rest, cwd), do: not (paths?(rest) or names?(rest, cwd))
  defp beyond?("switch", [new, _name], _cwd) when new in ~w(-c -C --create --force-create), do: false
  defp beyond?("switch", _rest, _cwd), do: true
  defp beyond?(_subcommand, _rest, _cwd), do: false

  defp some?(words, options), do: Enum.any?(words, &(&1 in options))
  defp paths?(words), do: match?(["--", _path | _more], Enum.drop_while(words, &(&1 != "--")))

  # A word that is a path that exists: git takes it for one, or says that it can't tell.
  defp names?(words, cwd) do
    named = Enum.reject(words, &String.starts_with?(&1, "-"))
    named != [] and Enum.all?(named, &File.exists?(Path.expand(&1, cwd)))
  end
end
