defmodule JidoCode.Tools.Test.Plain do
  @moduledoc false
  defstruct [:name, :password, count: 0]
end

defmodule JidoCode.Tools.Test.Derived do
  @moduledoc false
  @derive {Inspect, except: [:inner]}
  defstruct [:name, :inner]
end

defmodule JidoCode.Tools.Test.Custom do
  @moduledoc false
  # Its implementation would tell if it were ever called.
  defstruct [:inner]

  defimpl Inspect do
    def inspect(_struct, _opts) do
      send(:render_test, :project_code_ran)
      "custom"
    end
  end
end
