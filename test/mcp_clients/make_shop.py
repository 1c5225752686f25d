"""Makes the project that the clients are served: examples/shop, in a folder of its own, with code that prints all the time.

    make_shop.py REPOSITORY FOLDER
"""

import re
import shutil
import sys
from pathlib import Path

# What a careless project prints, and where. All of it would end up among the messages if it could.
CONFIG = """
IO.puts("noise: configuration")
config :logger, level: :debug
"""

NOISE = """\
IO.puts("noise: compiling")

defmodule Shop.Noise do
  @moduledoc "Prints on everything that leads to standard output."

  use GenServer
  require Logger

  @message ~s({"jsonrpc":"2.0","id":1,"result":{"noise":true}})

  @doc false
  def start_link(_opts), do: GenServer.start_link(__MODULE__, [])

  @impl true
  def init([]) do
    print()
    {:ok, _timer} = :timer.send_interval(100, :print)
    {:ok, []}
  end

  @impl true
  def handle_info(:print, state) do
    print()
    {:noreply, state}
  end

  defp print do
    IO.puts(@message)
    :io.put_chars(:user, "noise: without an end of line")
    :erlang.display(:noise)
    Logger.error("noise: a log line")
    File.write("/proc/self/fd/1", @message <> "\\n")
  end
end
"""

SLOW = """\
defmodule Shop.SlowTest do
  use ExUnit.Case

  @moduletag timeout: :infinity

  test "waits for a program in a group of its own" do
    System.cmd("setsid", ["sleep", "6001"])
  end
end
"""


def change(path, pattern, replacement):
    text, count = re.subn(pattern, replacement, path.read_text(), count=1)
    assert count == 1, f"{path} has no {pattern}"
    path.write_text(text)


def main():
    repository, folder = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.copytree(repository / "examples/shop", folder, ignore=shutil.ignore_patterns("_build", "deps"))
    change(folder / "mix.exs", r'path: "\.\./\.\."', lambda _match: f'path: "{repository}"')
    change(folder / "lib/shop/application.ex", r"Shop\.Inventory,", "Shop.Noise, Shop.Inventory,")
    with (folder / "config/config.exs").open("a") as config:
        config.write(CONFIG)
    (folder / "lib/shop/noise.ex").write_text(NOISE)
    (folder / "test/slow_test.exs").write_text(SLOW)


main()
