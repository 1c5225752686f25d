# Run by the library in a confined child, in the project's folder: says what the project's mix.exs declares, without
# anything of it being evaluated in the host. Tells one line over the channel of priv/channel.exs, which is put before it.
#
# A step of an alias that is not a string is a function, and stands as nil; so does one that is not text.
Mix.start()
# Another project's settings must not come in by the way of the environment.
Code.compiler_options(ignore_module_conflict: true)
Code.require_file("mix.exs")

config = Mix.Project.config()

text = fn step -> if is_binary(step) and String.valid?(step), do: step end

steps = fn
  step when is_binary(step) -> [text.(step)]
  steps when is_list(steps) -> Enum.map(steps, text)
  _function -> [nil]
end

# Mix finds an alias by the atom, so one whose name is anything else is none, and must not stand before one that is.
aliases = fn config ->
  for {name, value} <- config[:aliases] || [], is_atom(name), do: [Atom.to_string(name), steps.(value)]
end

test_paths =
  case config[:test_paths] do
    paths when is_list(paths) -> Enum.filter(paths, &(is_binary(&1) and String.valid?(&1)))
    _other -> nil
  end

# A task that runs in each application of an umbrella runs by that application's aliases there.
apps =
  for {app, path} <- Mix.Project.apps_paths() || %{} do
    Mix.Project.in_project(app, path, fn _module -> aliases.(Mix.Project.config()) end)
  end

facts = %{"aliases" => aliases.(config), "apps" => apps, "test_paths" => test_paths}
JidoCode.Tools.Channel.tell(JidoCode.Tools.Channel.open(), facts)
