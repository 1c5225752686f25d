defmodule JidoCode.Tools.Security.Refusal do
  @moduledoc false
  # The words for what the native policies refuse, those that both of them use.

  @doc "Why something that exists is refused, to follow its name; nothing for what is merely on no list."
  @spec because(String.t()) :: String.t()
  def because("runs_program"), do: ", it runs another program"
  def because("evaluates_code"), do: ", it runs code of the caller's choice"
  def because("leaves_project"), do: ", it works outside the project"
  def because("follows_links"), do: ", it follows links, which may lead out of the project"
  def because("waits_for_input"), do: ", it waits for input, which is closed"
  def because("never_ends"), do: ", it never ends by itself"
  def because("writes_file"), do: ", it writes a file that nobody named"
  def because("deletes_by_search"), do: ", it removes files by a search"
  def because("changes_settings"), do: ", it changes settings"
  def because("changes_dependencies"), do: ", it changes what the project depends on"
  def because("hides_failure"), do: ", it makes a failure look like success"
  def because("use_parameter"), do: ", the tool has a parameter for it"
  def because(_not_listed), do: ""

  @doc "What may stand there instead, as a sentence of its own."
  @spec instead([String.t()], String.t()) :: String.t()
  def instead(allowed, label \\ "Allowed")
  def instead([], _label), do: ""
  def instead(allowed, label), do: " #{label}: " <> Enum.join(allowed, ", ")
end
