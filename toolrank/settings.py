"""Everything an operator can set, as one object: arguments beat environment variables beat defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from toolrank_rescorers.profiles import DEFAULT_PROFILE

_HOME = Path(platformdirs.user_data_dir("toolrank"))


class Settings(BaseSettings):
    """Settings of a catalog and its models. Each field is also read from `TOOLRANK_<FIELD>`."""

    model_config = SettingsConfigDict(env_prefix="TOOLRANK_", frozen=True, extra="forbid")

    catalog: str = Field(default=f"sqlite:{_HOME / 'catalog.db'}", description="URL of the catalog.")
    profile: str = Field(default=DEFAULT_PROFILE, description="Profile of a search: a name or a .toml file.")
    encoder: str = Field(default="minilm-l6", description="Encoder: a shipped name or a folder.")
    cross_encoder: str = Field(default="reranker-l6", description="Cross-encoder: a name or a folder.")
    query_kind: str = Field(default="query-kind", description="Single/multi classifier: a name or a folder.")
    provider: Literal["cpu", "cuda", "tensorrt"] = Field(default="cpu", description="Where the models run.")
    threads: int = Field(default=0, ge=0, le=1024, description="Threads of a model; 0: all it may use.")
    intents: Path | None = Field(
        default=None, description="File of sample requests; by default beside an SQLite catalog."
    )
    llm_url: str = Field(
        default="", description="OpenAI-compatible endpoint, up to its version: …/v1; or hf:FOLDER."
    )
    llm_model: str = Field(default="", description="Name of the language model at that endpoint.")
    llm_key: SecretStr = Field(default=SecretStr(""), description="Bearer token of that endpoint.")
    llm_prompt_price: float = Field(default=0.0, ge=0, description="Cost of a million tokens of prompt.")
    llm_completion_price: float = Field(default=0.0, ge=0, description="Cost of a million tokens of answer.")
    demonstrations: str = Field(
        default="", description="Folder that `toolrank models demorank` wrote, or empty."
    )
    rescorer: str = Field(default="", description="URL of a rescorer service to rank with, or empty.")
    rescorer_key: SecretStr = Field(default=SecretStr(""), description="API key of that service.")
    embedding_cache: Path = Field(
        default=Path(platformdirs.user_cache_dir("toolrank")) / "embeddings.db",
        description="File that remembers embeddings between syncs.",
    )
