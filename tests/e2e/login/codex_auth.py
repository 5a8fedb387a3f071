"""codex_auth.py SECONDS GRANT VALID: a login of Codex that expires in SECONDS, as its auth.json; its token goes to the file VALID."""
import base64, json, sys, time


def jwt(claims):
    return ".".join(base64.urlsafe_b64encode(b).decode().rstrip("=") for b in (b'{"alg":"none"}', json.dumps(claims).encode(), b"token-REAL-sig"))


seconds, grant, valid = sys.argv[1:]
auth = {"chatgpt_plan_type": "plus", "chatgpt_account_id": "acc-1", "chatgpt_user_id": "user-1"}
token = jwt({"exp": int(time.time() + float(seconds)), "https://api.openai.com/auth": auth})
open(valid, "w").write(token)
print(json.dumps({"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": {"id_token": jwt({"email": "me@example.org", "https://api.openai.com/auth": auth}),
    "access_token": token, "refresh_token": grant, "account_id": "acc-1"}}))
