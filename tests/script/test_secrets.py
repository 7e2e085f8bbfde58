"""What is taken for a secret, and what is shown of a command in which one stands."""

from __future__ import annotations

import pytest

from paddock.script.secrets import hide_secrets, is_secret
from support.steps import count_steps

SECRET = """
HF_TOKEN TOKEN WANDB_API_KEY WANDB_KEY AWS_SECRET_ACCESS_KEY OPENAI_APIKEY MYSQL_PWD GITHUB_PAT PAT REDIS_AUTH AUTH
DB_PASSWORD db_passwd SSH_PASSPHRASE GOOGLE_APPLICATION_CREDENTIALS CLIENT_SECRET GPG_PRIVATE_KEY S3_ACCESSKEY hf_token
PGPASSWORD DBPASSWORD HFTOKEN MYSECRET SMTP_PASS smtp_pass SSHPASS DB_PASS AZURE_STORAGE_CONNECTION_STRING SQL_CONN_STR
SLACK_WEBHOOK SLACK_WEBHOOK_URL FEISHU_WEBHOOKS WEBHOOK ACCOUNT_KEY
"""
PLAIN = """
PATH PYTHONPATH PWD OLDPWD LD_LIBRARY_PATH TOKENIZERS_PARALLELISM KEYBOARD KEY MONKEY PATTERN DATA_PATH COMPAT
AUTHOR AUTHORS AUTH_METHOD XAUTHORITY HF_HOME WANDB_MODE LR PATCH_SIZE PASS PASSES SECRETARY KEYS MASTER_ADDR
TOKENS NUM_TOKENS MAX_TOKENS max_tokens TOKENIZER tokenizer PASS_RATE pass_rate BYPASS COMPASS NUM_PASS FORWARD_PASS
FLAGS_pir_apply_inplace_pass FLAGS_conv_bn_fuse_pass WEBHOOK_PORT WEBHOOKS_ENABLED CONNECTIONS PASSIVE PASSWORDLESS
"""


@pytest.mark.parametrize("name", SECRET.split())
def test_a_variable_is_called_as_secrets_are(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", PLAIN.split())
def test_a_variable_is_called_as_others_are(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("postgres://me:s3cr3t@db:5432/x", True),
        ("redis://:s3cr3t@cache", True),
        ("https://me:s3cr3t@host/x", True),
        ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=s3cr3t==", True),
        ("https://a.net/c/b?sv=2022&sig=s3cr3t", True),
        ("https://hooks.slack.com/services/T0/B0/s3cr3t", True),
        ("https://host/x?key=3", False),
        ("https://host/x?key=$KEY", False),
        ("key=3", False),
        ("http://host:8080/a@b", False),
        ("git+ssh://git@github.com/x", False),
        ("tcp://10.0.0.1:2379", False),
        ("a:b@c", False),
        ("", False),
    ],
)
def test_a_password_in_an_address_is_a_secret(value: str, secret: bool) -> None:
    assert is_secret("DATABASE", value) is secret


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("wandb login s3cr3t", "wandb login ***"),
        ("wandb login --relogin s3cr3t", "wandb login --relogin ***"),
        ("huggingface-cli login --token s3cr3t", "huggingface-cli login --token ***"),
        ("hf auth login --token=s3cr3t", "hf auth login --token=***"),
        ("docker login -u me -p s3cr3t reg.io", "docker login -u *** -p *** ***"),
        ("export TOKEN='s3 cr3t'", "export TOKEN=***"),
        ('export WANDB_KEY="s3 cr3t', "export WANDB_KEY=***"),
        ("env A=1 HF_TOKEN=s3cr3t wget x", "env A=1 HF_TOKEN=*** wget x"),
        ("--export=ALL,HF_TOKEN=s3cr3t,A=1", "--export=ALL,HF_TOKEN=***,A=1"),
        ("mpirun -genv HF_TOKEN s3cr3t", "mpirun -genv HF_TOKEN ***"),
        ("mysql --password s3cr3t --user me", "mysql --password *** --user me"),
        ("tool --api-key=s3cr3t --lr 1", "tool --api-key=*** --lr 1"),
        ("curl -H 'Authorization: Bearer s3cr3t' x", "curl -H 'Authorization: ***' x"),
        ("curl -H 'X-Api-Key: s3cr3t' x", "curl -H 'X-Api-Key: ***' x"),
        ("git clone https://me:s3cr3t@host/x", "git clone https://***@host/x"),
        ("wandb login $WANDB_API_KEY", "wandb login $WANDB_API_KEY"),
        ("login --token ${T} x", "login --token ${T} ***"),
        ("--key $API_KEY", "--key $API_KEY"),
        ("wget -q https://host:80/a --tries 3", "wget -q https://host:80/a --tries 3"),
        ("tar xf a.tar  &&  ls", "tar xf a.tar  &&  ls"),
    ],
)
def test_of_a_command_no_secret_is_shown(text: str, shown: str) -> None:
    assert hide_secrets(text) == shown


@pytest.mark.parametrize("piece", ["a", "-", "=", "'", '"', "TOKEN=", ",A=", "://a:", "token:", "-_", " --token"])
def test_a_long_text_costs_no_square(piece: str) -> None:
    assert count_steps(lambda: hide_secrets(piece * 20_000)) < 1_000_000
