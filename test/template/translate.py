"""Translates SAM templates as CloudFormation would: translate.py IN OUT [IN OUT ...].

Needs no account: code is said to be in a bucket already, and nothing may refer
to a managed policy by name, because this template spells its statements out.
"""

import json
import os
import sys

from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse


class NoManagedPolicies:
    """Stands where the account's managed policies would be looked up."""

    def load(self):
        return {}


def translate(source):
    with open(source, encoding="utf-8") as file:
        template = yaml_parse(file.read())
    functions = [r for r in template["Resources"].values() if r["Type"] == "AWS::Serverless::Function"]
    template.get("Globals", {}).get("Function", {}).pop("CodeUri", None)
    for function in functions:
        function["Properties"]["CodeUri"] = "s3://bucket/key"
    parameters = {name: p.get("Default", "") for name, p in template.get("Parameters", {}).items()}
    return transform(template, parameters, NoManagedPolicies())


def main(paths):
    os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
    for source, target in zip(paths[::2], paths[1::2], strict=True):
        try:
            result = translate(source)
        except Exception as error:  # the test wants every reason at once, by name
            result = {"Error": f"{type(error).__name__}: {getattr(error, 'message', error)}"}
        with open(target, "w", encoding="utf-8") as file:
            json.dump(result, file)


if __name__ == "__main__":
    main(sys.argv[1:])
