# Run by the library in a confined child, in the project's folder: says what the project's mix.exs declares, without
# anything of it being evaluated in the host. Writes one Erlang term to the file it is told.
#
# A step of an alias that is no string is a function, and stands as nil.
[target] = System.argv()

Mix.start()
# Another project's settings must not come in by the way of the environment.
Code.compiler_options(ignore_module_conflict: true)
Code.require_file("mix.exs")

config = Mix.Project.config()

steps = fn
  step when is_binary(step) -> [step]
  steps when is_list(steps) -> Enum.map(steps, &if(is_binary(&1), do: &1))
  _function -> [nil]
end

aliases = for {name, value} <- config[:aliases] || [], do: {to_string(name), steps.(value)}

test_paths =
  case config[:test_paths] do
    paths when is_list(paths) -> Enum.filter(paths, &is_binary/1)
    _other -> nil
  end

facts = %{"aliases" => aliases, "test_paths" => test_paths, "apps_path" => config[:apps_path]}
File.write!(target, :erlang.term_to_binary(facts))
