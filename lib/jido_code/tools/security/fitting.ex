defmodule JidoCode.Tools.Security.Fitting do
  @moduledoc false
  # The one way to call a function of the native core whose work may be long. The core itself says when it is too long for a
  # normal scheduler.

  @doc """
  The answer of a call such as `Native.sanitize(core, session, term)`: of the function itself, or where that answers `:dirty`, of
  its twin `sanitize_dirty`, which does the work on a dirty scheduler.

  A macro, since it is on the path of every call: no function is made for the case that is rare.
  """
  defmacro fitting({{:., dot, [module, function]}, call, args}) do
    names = Macro.generate_arguments(length(args), __MODULE__)
    bound = for {name, arg} <- Enum.zip(names, args), do: quote(do: unquote(name) = unquote(arg))
    dirty = {{:., dot, [module, :"#{function}_dirty"]}, call, names}

    quote do
      unquote_splicing(bound)

      case unquote({{:., dot, [module, function]}, call, names}) do
        :dirty -> unquote(dirty)
        answer -> answer
      end
    end
  end
end
