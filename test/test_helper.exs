ExUnit.start(capture_log: true)
JidoCode.Tools.Test.Host.load()
