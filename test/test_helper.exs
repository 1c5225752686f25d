# The server is installed for these tests alone.
data = Path.join(System.tmp_dir!(), "jido_code_tools-data-#{System.pid()}")
System.put_env("XDG_DATA_HOME", data)

ExUnit.start(capture_log: true)
ExUnit.after_suite(fn _results -> File.rm_rf!(data) end)
JidoCode.Tools.Test.Host.load()
