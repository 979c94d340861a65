"""openssl: hand-written assembly, carry chains, vector code: digests, ciphers, keys, signatures."""
import os

from real import check, real_program, run, which

OPENSSL = which("openssl")
SHELL = f"""
set -e
for digest in md5 sha1 sha256 sha512 sha3-256 blake2b512; do {OPENSSL} dgst -$digest data; done
for cipher in aes-128-cbc aes-256-ctr chacha20 camellia-128-cbc; do
  {OPENSSL} enc -$cipher -K 00112233445566778899aabbccddeeff -iv 0102030405060708090a0b0c0d0e0f10 \\
    -in data -out data.$cipher 2>&1 | wc -l
done
{OPENSSL} dgst -sha256 -hmac key data.*
{OPENSSL} prime 170141183460469231731687303715884105727
{OPENSSL} pkey -in rsa.pem -pubout -out rsa.pub
{OPENSSL} pkey -in ed.pem -pubout -out ed.pub
{OPENSSL} dgst -sha256 -sign rsa.pem -out rsa.signature data
{OPENSSL} dgst -sha256 -verify rsa.pub -signature rsa.signature data
{OPENSSL} pkeyutl -sign -rawin -inkey ed.pem -in data -out ed.signature
{OPENSSL} pkeyutl -verify -rawin -pubin -inkey ed.pub -in data -sigfile ed.signature
{OPENSSL} dgst -sha256 -verify rsa.pub -signature data.chacha20 data 2>/dev/null
"""


def key(*kind):
    made = run([OPENSSL, "genpkey", *kind])
    check(made.status == 0, made.stderr.decode())
    return made.stdout


KEYS = {"rsa.pem": key("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"),
        "ed.pem": key("-algorithm", "ED25519")}


def prepare(directory):
    for name, data in {**KEYS, "data": b"some text, many times over\n" * 20000}.items():
        with open(os.path.join(directory, name), "wb") as out:
            out.write(data)


real_program(["/bin/sh", "-c", SHELL], prepare, status=1, processes=20)
