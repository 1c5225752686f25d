defmodule JidoCode.Tools.Security.Native do
  @moduledoc false
  # The native core's functions, nothing else: a running VM can't load this module anew, so it must not need to change.
  # Names carry the noun they act on. Functions that end in `_dirty` do the same on a dirty scheduler; their twins
  # answer `:dirty` when the work is too long for a normal one, and are called by `Fitting`. What each returns is said where it is called.

  @on_load :load
  @compile {:autoload, false}

  def load do
    path = :filename.join(:code.priv_dir(:jido_code_tools), ~c"native/jido_code_tools")

    # A failed load leaves the stubs in place: each call raises, and each caller denies or redacts.
    with {:error, {reason, text}} <- :erlang.load_nif(path, 0) do
      :persistent_term.put({__MODULE__, :load_error}, {reason, text})
    end

    :ok
  end

  @doc false
  @spec load_error() :: nil | {atom(), charlist()}
  def load_error, do: :persistent_term.get({__MODULE__, :load_error}, nil)

  def core_new(_config), do: missing()
  def core_put_policy(_core, _policy), do: missing()
  def core_put_known(_core, _taken, _forced), do: missing()
  def clock_advance(_core, _ms), do: missing()

  def decide(_core, _which, _session, _tool, _tier, _rate, _requires_consent, _granted, _consented),
    do: missing()

  def rate_check(_core, _session, _tool, _limit, _window_ms), do: missing()
  def rate_count(_core, _session, _tool, _window_ms), do: missing()
  def rate_clear_session(_core, _session), do: missing()
  def rate_clear_all(_core), do: missing()
  def rate_cleanup(_core, _max_age_ms), do: missing()
  def rate_sweep(_core), do: missing()

  def tier_of(_core, _tool), do: missing()
  def tier_rate(_core, _tier), do: missing()
  def tier_table(_core), do: missing()
  def grant_tier(_core, _session, _tier), do: missing()
  def grant_get(_core, _session), do: missing()
  def grant_clear(_core, _session), do: missing()
  def grant_expire(_core), do: missing()
  def consent_record(_core, _session, _tool), do: missing()
  def consent_revoke(_core, _session, _tool), do: missing()

  def command_runner_keep(_path), do: missing()

  def audit_append(_core, _row), do: missing()
  def audit_append_dirty(_core, _row), do: missing()
  def audit_abandon(_core, _started), do: missing()
  def audit_sync(_core), do: missing()
  def audit_file(_core), do: missing()
  def audit_verify_trail(_path, _key), do: missing()
  def audit_is_entry(_line), do: missing()
  def audit_resize(_core, _capacity), do: missing()
  def audit_capacity(_core), do: missing()
  def audit_query(_core, _session, _limit, _order), do: missing()
  def audit_query_dirty(_core, _session, _limit, _order), do: missing()
  def audit_verify(_core), do: missing()
  def audit_count(_core), do: missing()
  def audit_clear_session(_core, _session), do: missing()
  def audit_clear_all(_core), do: missing()
  def args_hash(_core, _args), do: missing()
  def args_hash_dirty(_core, _args), do: missing()

  def sanitize(_core, _session, _term), do: missing()
  def sanitize_dirty(_core, _session, _term), do: missing()
  def sanitizer_forget(_core, _session), do: missing()
  def sanitizer_expire(_core), do: missing()
  def sanitizer_secrets_in(_core, _name, _value), do: missing()
  def sanitizer_rules(), do: missing()

  def mix_policy_new(_settings), do: missing()
  def mix_policy_check(_policy, _task, _args, _env), do: missing()
  def mix_policy_check_dirty(_policy, _task, _args, _env), do: missing()
  def mix_policy_expand(_policy, _task, _args, _env, _aliases, _wide), do: missing()
  def command_policy_new(_mix, _names, _git_network, _git_push), do: missing()
  def command_policy_names(_policy, _wide), do: missing()
  def command_plan(_policy, _root, _cwd, _line, _aliases, _wide), do: missing()
  def path_resolve(_root, _path), do: missing()

  def file_read(_path, _limit), do: missing()
  def file_identities(_paths), do: missing()
  def file_find(_folders, _name), do: missing()

  def term_within(_term, _words), do: missing()
  def term_within_dirty(_term, _words), do: missing()
  def text_matches(_pattern, _texts), do: missing()
  def json_decode(_binary), do: missing()
  def json_encode(_term, _pretty), do: missing()

  def search_start(_reference, _request), do: missing()
  def search_cancel(_search), do: missing()

  defp missing, do: :erlang.nif_error(:nif_not_loaded)
end
