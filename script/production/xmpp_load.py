"""Thirty accounts that stay online and write to each other. How many messages arrived goes into a file."""
import base64
import socket
import sys
import time

PORT, FILE = int(sys.argv[1]), sys.argv[2]
USERS = 30
HEADER = "<?xml version='1.0'?><stream:stream to='localhost' version='1.0' xmlns='jabber:client' " \
         "xmlns:stream='http://etherx.jabber.org/streams'>"


class Client:
    def __init__(self, number):
        self.name = f"user{number}"
        self.socket = connect()
        self.text = ""

    def send(self, text):
        self.socket.sendall(text.encode())

    def until(self, *words):
        deadline = time.time() + 20
        while not any(word in self.text for word in words):
            if time.time() > deadline:
                raise TimeoutError(f"{self.name} waits for {words}, got {self.text[-300:]}")
            self.text += self.socket.recv(65536).decode(errors="replace")
        text, self.text = self.text, ""
        return text

    def log_in(self):
        self.send(HEADER)
        self.until("</stream:features>")
        self.send("<iq type='set' id='r'><query xmlns='jabber:iq:register'>"
                  f"<username>{self.name}</username><password>pass-{self.name}</password></query></iq>")
        self.until("<iq")
        plain = base64.b64encode(f"\0{self.name}\0pass-{self.name}".encode()).decode()
        self.send(f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{plain}</auth>")
        answer = self.until("<success", "<failure")
        if "<failure" in answer:
            raise PermissionError(answer)
        self.send(HEADER)
        self.until("</stream:features>")
        self.send("<iq type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>")
        self.until("</iq>")
        self.send("<iq type='set' id='s'><session xmlns='urn:ietf:params:xml:ns:xmpp-session'/></iq><presence/>")
        self.socket.setblocking(False)


def connect():
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", PORT), timeout=20)
        except OSError:
            time.sleep(0.3)
    sys.exit("xmpp_load: no server")


def main():
    clients = [Client(number) for number in range(USERS)]
    for client in clients:
        client.log_in()
    arrived = 0
    while True:
        for number, client in enumerate(clients):
            to = clients[(number + 7) % USERS].name
            client.send(f"<message type='chat' to='{to}@localhost'><body>hello</body></message>")
            try:
                arrived += client.socket.recv(65536).count(b"<body>")
            except BlockingIOError:
                pass
        with open(FILE, "w") as out:
            out.write(str(arrived))
        time.sleep(0.2)


main()
